import NIOCore
import NIOPosix

/// A connection that returns every byte of the response.
enum RawConnection {
    /// Sends a request and returns everything that arrives until the server closes the connection.
    static func exchange(port: Int, _ request: String) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "localhost", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: request))
            var received = ByteBuffer()
            for try await var bytes in inbound {
                received.writeBuffer(&bytes)
            }
            return String(buffer: received)
        }
    }

    static func post(port: Int, _ path: String, _ body: String) async throws -> String {
        let head = [
            "POST \(path) HTTP/1.1",
            "Host: localhost:\(port)",
            "Content-Type: application/x-www-form-urlencoded",
            "Content-Length: \(body.utf8.count)",
            "Connection: close",
        ]
        return try await exchange(port: port, (head + ["", body]).joined(separator: "\r\n"))
    }

    static func get(port: Int, _ path: String) async throws -> String {
        try await exchange(port: port, "GET \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\r\n")
    }
}
