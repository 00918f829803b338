/// A fact about the state of a storage, for `status` and `doctor`.
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
