// Keeps a server that listens on every interface on the loopback interface: node --require=loopback.cjs …
const net = require("net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const options = typeof port === "object" ? { ...port, host: "127.0.0.1" } : { port, host: "127.0.0.1" };
  return listen.call(this, options, rest.find((one) => typeof one === "function"));
};
