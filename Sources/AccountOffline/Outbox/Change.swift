#if Offline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A change by the user that the app sends to the service.
public struct Change: Codable, Sendable, Hashable, Identifiable {
    /// The identifier, which is the same for all attempts. It is the idempotency key for services that support
    /// idempotency keys. If the service refused the change, and the user corrects or keeps it, the change gets a new
    /// identifier.
    public let id: UUID

    /// The kind of change.
    public var kind: ChangeKind

    /// The ID of the item at the service. For a new item that the app has not sent, an ID that begins with
    /// ``localPrefix``.
    public var object: String

    /// The data for the request, usually JSON.
    public var body: Data

    /// The version of the item when the change was made, such as an entity tag, or `nil` if the version does not
    /// matter.
    public var base: String?

    /// The time when the user made the change.
    public let madeAt: Date

    /// The time when the app first sent the change, by the clock of this machine, which may be wrong. `nil` if the app
    /// has not sent the change.
    var sentAt: Date?

    /// A time before the app first sent the change, by the clock of the service, or `nil` if the app has not yet
    /// received a `Date` from the service. An item that this change has created is not older.
    ///
    /// If a change was never sent, this is the latest `Date` that the app has received.
    public internal(set) var sentAfter: Date?

    /// The prefix of IDs that this machine has assigned.
    public static let localPrefix = "local-"

    /// Whether the service has not assigned an ID to the item yet.
    var hasLocalID: Bool { object.hasPrefix(Self.localPrefix) }

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - kind: The kind of change.
    ///   - object: The ID of the item, or `nil` for a new item.
    ///   - body: The data for the request.
    ///   - base: The version of the item, for services that use it to detect concurrent changes.
    ///   - date: The time when the user made the change.
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
    /// The name of the kind, which is stored with the change.
    public let rawValue: String

    /// Creates a kind that the app defines, such as `star`.
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

    /// The number of times that the app has tried to send the change.
    public var attempts: Int

    /// The last problem, for messages, or `nil` if there was none.
    public var lastProblem: String?

    /// The earliest date of the next attempt, or `nil` if the next attempt may begin immediately.
    var notBefore: Date?

    /// Whether the state is ``ChangeState/conflict`` because the item no longer exists at the service.
    public internal(set) var isItemGone = false

    /// The ID of the change.
    public var id: UUID { change.id }
}

/// The state of a change. The raw values are stable.
public enum ChangeState: String, Sendable, Hashable, CaseIterable, Codable {
    /// The next synchronization sends the change.
    case queued
    /// The app is sending the change, or the process ended while it sent the change.
    case sending
    /// The response was lost. Before a retry, the next synchronization checks at the service whether the change took
    /// effect.
    case unknown
    /// Another client has changed the item. The user must decide what happens to the change.
    case conflict
    /// The service rejected the change. The user must decide what happens to it.
    case refused
    /// The service does not accept the token of the account.
    case waitingForSignIn

    /// Whether the user must decide what happens to the change.
    public var needsDecision: Bool { self == .conflict || self == .refused }
}
#endif
