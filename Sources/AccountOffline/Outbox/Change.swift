#if Offline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A change of the user that is sent to the service.
public struct Change: Codable, Sendable, Hashable, Identifiable {
    /// The identifier, the same for all attempts. It is the idempotency key for services that support one.
    public let id: UUID

    /// The kind of change.
    public var kind: ChangeKind

    /// The id of the item at the service, or an id that begins with ``localPrefix`` for a new item that was not sent.
    public var object: String

    /// The data for the request, usually JSON.
    public var body: Data

    /// The version of the item when the change was made, such as an entity tag; `nil` if that does not matter.
    public var base: String?

    /// When the user made the change.
    public let madeAt: Date

    /// When the change was first sent; `nil` if it has not been sent.
    public internal(set) var sentAt: Date?

    /// The prefix of ids that this machine has assigned.
    public static let localPrefix = "local-"

    /// Whether the item still lacks an id from the service.
    public var hasLocalID: Bool { object.hasPrefix(Self.localPrefix) }

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - kind: The kind of change.
    ///   - object: The id of the item; `nil` for a new item.
    ///   - body: The data for the request.
    ///   - base: The version of the item, for services that detect concurrent changes with it.
    ///   - date: When the user made the change.
    public init(
        _ kind: ChangeKind, of object: String? = nil, body: Data = Data(), base: String? = nil, at date: Date = Date()
    ) {
        id = UUID()
        self.kind = kind
        self.object = object ?? Self.localPrefix + UUID().uuidString.lowercased().replacing("-", with: "").prefix(12)
        self.body = body
        self.base = base
        madeAt = date
    }
}

/// A kind of change.
public struct ChangeKind: RawRepresentable, Codable, Sendable, Hashable {
    /// The name, which is stored.
    public let rawValue: String

    /// Creates a kind of the app, such as `star`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an item.
    public static let create = ChangeKind(rawValue: "create")
    /// Changes an item.
    public static let update = ChangeKind(rawValue: "update")
    /// Removes an item.
    public static let delete = ChangeKind(rawValue: "delete")
}

/// An unsent change.
public struct PendingChange: Sendable, Hashable, Identifiable {
    /// The change.
    public let change: Change

    /// The state of the change.
    public var state: ChangeState

    /// The number of attempts.
    public var attempts: Int

    /// The last problem, for messages; `nil` if there was none.
    public var lastProblem: String?

    /// The earliest date of the next attempt; `nil` if it may be made at once.
    public var notBefore: Date?

    /// The id of the change.
    public var id: UUID { change.id }
}

/// The state of a change. The raw values are stable.
public enum ChangeState: String, Sendable, Hashable, CaseIterable, Codable {
    /// The next synchronization sends it.
    case queued
    /// It is being sent, or the process died while it was.
    case sending
    /// The response was lost. The next synchronization asks the service whether the change took effect before a retry.
    case unknown
    /// Another client has changed the item. The user decides.
    case conflict
    /// The service refuses the change. The user decides.
    case refused
    /// The service does not accept the token of the account.
    case waitingForSignIn

    /// Whether the change waits for the user's decision.
    public var needsDecision: Bool { self == .conflict || self == .refused }
}
#endif
