/// A storage that can say how it is, which `status` and `doctor` show.
public protocol InspectableArchiveStorage: ArchiveStorage {
    /// Asks whatever the storage consists of.
    ///
    /// Never fails: that something does not respond is an observation too. It takes seconds at the most.
    func inspect() async -> [StorageObservation]
}

/// Something about a storage, for a person.
public struct StorageObservation: Sendable, Hashable, Encodable {
    /// What it is about, in a word or two, such as `Member`.
    public var label: String

    /// What there is to say.
    public var text: String

    /// What to do about it, if it is a problem; `nil` if all is well.
    public var advice: String?

    /// Creates an observation.
    public init(_ label: String, _ text: String, advice: String? = nil) {
        self.label = label
        self.text = text
        self.advice = advice
    }
}
