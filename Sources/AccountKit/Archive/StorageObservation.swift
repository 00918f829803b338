/// A storage that reports its state for `status` and `doctor`.
package protocol InspectableArchiveStorage: ArchiveStorage {
    /// Returns observations about the state of the storage. This takes a few seconds at most. The function never fails,
    /// since a missing response is also an observation.
    func inspect() async -> [StorageObservation]
}

package struct StorageObservation: Sendable, Hashable, Encodable {
    /// The subject in one or two words, such as `Member`.
    package var label: String

    package var text: String

    package var advice: String?

    package init(_ label: String, _ text: String, advice: String? = nil) {
        self.label = label
        self.text = text
        self.advice = advice
    }
}
