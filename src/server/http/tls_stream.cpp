#include <boost/asio/ssl/stream.hpp>
#include <utility>

#include "server/http/byte_stream.h"

namespace wick {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class TlsStream : public ByteStream {
 public:
  TlsStream(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  void handshake(Done done) override { stream_.async_handshake(asio::ssl::stream_base::server, std::move(done)); }
  void read_some(asio::mutable_buffer into, Moved moved) override { stream_.async_read_some(into, std::move(moved)); }
  void write_some(asio::const_buffer from, Moved moved) override { stream_.async_write_some(from, std::move(moved)); }
  void finish_sending(Done done) override { stream_.async_shutdown(std::move(done)); }
  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

  void reset() override {
    error_code ignored;
    stream_.lowest_layer().set_option(asio::socket_base::linger(true, 0), ignored);
    close();
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<ByteStream> tls_stream(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> context) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

}  // namespace wick
