#if Offline
import AccountKit
import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What a response says about a change or an item, according to its status and its form.
public enum RemoteAnswer: Sendable, Hashable {
    /// The service has applied the change, or has sent the item.
    case done

    /// The service does not find the item.
    case gone

    /// The service has rejected the request. With status 409 or 412, the change becomes a conflict.
    case refused

    /// The response does not have the form that this service gives to its responses, so it may come from a captive
    /// portal or a proxy.
    case foreign

    /// Interprets the response of a service that sends JSON, and no body only with status 204 or 205:
    ///
    /// | response | answer |
    /// | --- | --- |
    /// | 200, 201 or 202 with a JSON object or array; 204 or 205 without a body, except to a create and to a request for an item | ``done`` |
    /// | 404 with a JSON object or array, and fields that name a scope which the token does not have | ``refused`` |
    /// | any other 404 or 410 with a JSON object or array | ``gone`` |
    /// | any other status from 400 to 499 with a JSON object or array | ``refused`` |
    /// | any other response | ``foreign`` |
    ///
    /// - Parameters:
    ///   - head: The status and the header fields of the response.
    ///   - body: The body of the response.
    ///   - change: The kind of the change, or `nil` for a request for an item.
    public init(json head: HTTPResponse, _ body: Data, to change: ChangeKind?) {
        let status = head.status.code
        switch status {
        case 204, 205: self = body.isEmpty && change != nil && change != .create ? .done : .foreign
        case 200...202, 400...499:
            guard Self.isJSON(body) else {
                self = .foreign
                return
            }
            let isAboutScopes = MissingPermission(head) != nil
            self = status < 300 ? .done : [404, 410].contains(status) && !isAboutScopes ? .gone : .refused
        default: self = .foreign
        }
    }

    /// Returns whether a body is a JSON object or array. One string that decoders reject does not make it another server's.
    private static func isJSON(_ body: Data) -> Bool {
        guard beginsLikeJSON(body) else { return false }
        return AnyJSON.isWhole(body)
            || JSONText(JSONText.repairingStrings(of: Array(body.withoutByteOrderMark))[...], depthLimit: .max) != nil
    }

    /// Returns whether a body begins like a JSON object or array, unlike a web page or a text.
    static func beginsLikeJSON(_ body: Data) -> Bool {
        // Some services send a byte order mark, which a client may ignore (RFC 8259, section 8.1).
        let first = body.withoutByteOrderMark.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }
}

extension MissingPermission {
    init?(_ head: HTTPResponse) {
        self.init(status: head.status.code) { name in
            HTTPField.Name(name).flatMap { head.headerFields[values: $0].first }
        }
    }
}

/// A value that is decoded only to check the syntax of the text.
struct AnyJSON: Decodable {
    init(from decoder: any Decoder) {}

    static func isWhole(_ text: Data) -> Bool { (try? JSONDecoder().decode(Self.self, from: text)) != nil }
}

extension ResponseOutcome.Answer {
    init(_ answer: RemoteAnswer) {
        self =
            switch answer {
            case .done: .done
            case .gone: .missing
            case .refused: .refused
            case .foreign: .foreign
            }
    }
}
#endif
