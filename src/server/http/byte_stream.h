#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>

namespace wick {

// A connection as a stream of bytes, plain or encrypted. One read and one write may be under way at a time. Everything
// is called, and calls back, on the executor of the socket.
class ByteStream {
 public:
  using Done = std::function<void(boost::system::error_code)>;
  using Moved = std::function<void(boost::system::error_code, size_t)>;

  virtual ~ByteStream() = default;
  virtual void handshake(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer into, Moved moved) = 0;
  virtual void write_some(boost::asio::const_buffer from, Moved moved) = 0;
  // Tells the other side that nothing more comes, which it may answer in kind.
  virtual void finish_sending(Done done) = 0;
  virtual void close() = 0;  // at once; what is under way ends with an error
  virtual void reset() = 0;  // the same, and what the system still holds for the other side is thrown away
};

std::unique_ptr<ByteStream> plain_stream(boost::asio::ip::tcp::socket socket);
std::unique_ptr<ByteStream> tls_stream(boost::asio::ip::tcp::socket socket,
                                       std::shared_ptr<boost::asio::ssl::context> context);

}  // namespace wick
