// As loopback.cjs, for programs that ask for the port at once: node --no-deprecation --require=loopback_at_once.cjs …
const { TCP } = process.binding("tcp_wrap");
const bind = TCP.prototype.bind;
TCP.prototype.bind6 = TCP.prototype.bind = function (_address, port) {
  return bind.call(this, "127.0.0.1", port);
};
