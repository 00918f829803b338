/// A storage that reports its state for `status` and `doctor`.
package protocol InspectableArchiveStorage: ArchiveStorage {
    /// Asks the parts of the storage for their state.
    ///
    /// It never fails, since a missing response is an observation too. It takes a few seconds at most.
    func inspect() async -> [StorageObservation]
}

/// An observation about a storage, for the user.
package struct StorageObservation: Sendable, Hashable, Encodable {
    /// The subject in one or two words, such as `Member`.
    package var label: String

    /// The observation.
    package var text: String

    /// What to do about a problem; `nil` if there is none.
    package var advice: String?

    /// Creates an observation.
    package init(_ label: String, _ text: String, advice: String? = nil) {
        self.label = label
        self.text = text
        self.advice = advice
    }
}
