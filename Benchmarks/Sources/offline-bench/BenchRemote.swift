import AccountOffline
import Foundation
import HTTPTypes

/// A gist, as `gists` decodes it.
struct BenchGist: Codable, Sendable {
    struct File: Codable, Sendable { var filename: String }

    var id: String
    var description: String
    var isPublic: Bool
    var files: [String: File]
    var createdAt: String
    var updatedAt: String

    enum CodingKeys: String, CodingKey {
        case id, description, files
        case isPublic = "public"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

/// A service with any number of rows, at almost no cost: its responses contain only numbers, from which this type
/// creates the rows.
struct BenchRemote: RemoteCollection {
    typealias Item = BenchGist

    let count: Int
    let byteCount: Int

    private static let pageSize = 100

    /// 32 hexadecimal digits in random order, like IDs of services (SplitMix64): the same as in `rows.c`.
    static func id(_ number: Int) -> String {
        [1, 2].map { (half: UInt64) -> String in
            var value: UInt64 = UInt64(number) * 2 + half
            value = value &* 0x9E37_79B9_7F4A_7C15
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            let digits = String(value ^ (value >> 31), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    func send(_ request: HTTPRequest, _ body: Data?) throws -> (head: HTTPResponse, body: Data) {
        if request.headerFields[.ifNoneMatch] != nil { return (HTTPResponse(status: .notModified), Data()) }
        return (HTTPResponse(status: .ok, headerFields: [.eTag: "\"1\""]), Data((request.path ?? "").dropFirst().utf8))
    }

    func request(for list: String, at cursor: String?) -> HTTPRequest {
        HTTPRequest(method: .get, scheme: "https", authority: "bench.example.com", path: "/\(cursor ?? "0")")
    }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        guard head.status == .ok, let start = Int(String(decoding: body, as: UTF8.self)) else {
            return RemotePage(items: [], next: nil)
        }
        let end = min(start + Self.pageSize, count)
        return RemotePage(items: (start..<end).map(item), next: end < count ? "\(end)" : nil)
    }

    /// A row of the requested length.
    func item(_ number: Int) -> RemoteItem {
        let id = Self.id(number)
        let head =
            #"{"id":"\#(id)","public":true,"files":{"a":{"filename":"a"}},"created_at":"2026-01-01T00:00:00Z","#
            + #""updated_at":"2026-01-01T00:00:00Z","description":""#
        var json = Data(head.utf8)
        json.append(Data(repeating: UInt8(ascii: "x"), count: max(byteCount - json.count - 2, 0)))
        json.append(contentsOf: [UInt8(ascii: "\""), UInt8(ascii: "}")])
        return RemoteItem(id: id, json: json)
    }

    func request(forItem id: String) -> HTTPRequest { request(for: "", at: nil) }
    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem { item(0) }
    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) { (request(for: "", at: nil), nil) }
    func item(_ item: Data?, with change: Change) throws -> Data? { item }
    func effect(of change: Change, on list: String) -> ListEffect { .none }
}
