#if Offline
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Something that the user did and that the service is to be told.
public struct Change: Codable, Sendable, Hashable, Identifiable {
    /// The same for all attempts: an idempotency key, where the service honours one.
    public let id: UUID

    /// What is done.
    public var kind: ChangeKind

    /// The id of the item: the service's, or, of one that was made here and not sent yet, one that begins with ``localPrefix``.
    public var object: String

    /// What the adapter made of it, usually the JSON that is to be sent.
    public var body: Data

    /// What the item was like when the change was made, such as an entity tag; `nil` if that does not matter.
    public var base: String?

    /// When the user made it.
    public let madeAt: Date

    /// When it was sent first; `nil` if it was not.
    public internal(set) var sentAt: Date?

    /// What ids begin with that this machine has given.
    public static let localPrefix = "local-"

    /// Whether the item has no id of the service yet.
    public var hasLocalID: Bool { object.hasPrefix(Self.localPrefix) }

    /// Creates a change.
    ///
    /// - Parameters:
    ///   - kind: What is done.
    ///   - object: The id of the item; `nil` gives a new one, for an item that is made.
    ///   - body: What the adapter makes its request of.
    ///   - base: What the item was like, for services that tell by that whether somebody else has changed it.
    ///   - date: When the user made it.
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

/// What a change does.
public struct ChangeKind: RawRepresentable, Codable, Sendable, Hashable {
    /// The name, which is stored.
    public let rawValue: String

    /// A kind of an app's own, such as `star`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes an item.
    public static let create = ChangeKind(rawValue: "create")
    /// Changes an item.
    public static let update = ChangeKind(rawValue: "update")
    /// Removes an item.
    public static let delete = ChangeKind(rawValue: "delete")
}

/// A change that waits.
public struct PendingChange: Sendable, Hashable, Identifiable {
    /// The change.
    public let change: Change

    /// How it stands.
    public var state: ChangeState

    /// How often it was sent.
    public var attempts: Int

    /// Why it waits, in words; `nil` if nothing has gone wrong.
    public var lastProblem: String?

    /// Not to be sent before; `nil` for at once.
    public var notBefore: Date?

    /// The change's.
    public var id: UUID { change.id }
}

/// How a change stands. The raw values are stable.
public enum ChangeState: String, Sendable, Hashable, CaseIterable, Codable {
    /// It is sent with the next synchronization.
    case queued
    /// It is being sent, or was when the process died.
    case sending
    /// It was sent, and the response was lost: the service is asked before it is sent again.
    case unknown
    /// Somebody else has changed the item meanwhile: a person decides.
    case conflict
    /// The service does not do it: a person decides.
    case refused
    /// The service does not take the account's token.
    case waitingForSignIn

    /// Whether it waits for a person's decision.
    public var needsDecision: Bool { self == .conflict || self == .refused }
}
#endif
