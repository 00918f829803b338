import Hummingbird
import NIOCore
import NIOFoundationEssentialsCompat

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Request {
    /// The body of a control request. Unknown members are an error, and an empty body counts as `{}`.
    ///
    /// - Parameters:
    ///   - context: Limits the length of the body.
    ///   - members: The known members, or `nil` if the type rejects unknown members itself.
    func controlBody<Body: Decodable>(_ context: ServerContext, members: [String]? = nil) async throws -> Body {
        var bytes = try await body.collect(upTo: context.maxUploadSize)
        if bytes.readableBytes == 0 {
            bytes = ByteBuffer(string: "{}")
        }
        do {
            let decoder = JSONDecoder()
            if let members {
                let sent = try decoder.decode(JSONObject.self, from: bytes)
                if let unknown = sent.keys.sorted().first(where: { !members.contains($0) }) {
                    throw ControlError(message: "unknown member \(unknown)")
                }
            }
            return try decoder.decode(Body.self, from: bytes)
        } catch let error as DecodingError {
            throw ControlError(error)
        }
    }
}
