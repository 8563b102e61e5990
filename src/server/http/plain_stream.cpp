#include <boost/asio/post.hpp>
#include <utility>

#include "server/http/byte_stream.h"

namespace wick {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class PlainStream : public ByteStream {
 public:
  explicit PlainStream(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}

  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer into, Moved moved) override { socket_.async_read_some(into, std::move(moved)); }
  void write_some(asio::const_buffer from, Moved moved) override { socket_.async_write_some(from, std::move(moved)); }
  void finish_sending(Done done) override {
    error_code error;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error); });
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

  void reset() override {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
    close();
  }

 private:
  asio::ip::tcp::socket socket_;
};

}  // namespace

std::unique_ptr<ByteStream> plain_stream(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace wick
