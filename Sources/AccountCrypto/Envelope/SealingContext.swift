/// The identity of an archive. The context is part of every key and tag, but it is not stored, so that a file from
/// another app or session cannot be opened.
package struct SealingContext: Hashable, Sendable {
    /// `lp("AccountKit/1") ‖ lp(app identifier) ‖ lp(session name)`.
    let bytes: [UInt8]

    /// `bytes ‖ lp(place)`, or `nil` for an archive that is not bound to a place. Key slots are bound only to `bytes`.
    let boundBytes: [UInt8]?

    package init(appIdentifier: String, sessionName: String, place: String? = nil) {
        var bytes: [UInt8] = []
        bytes.append(lengthPrefixed: "AccountKit/1".utf8)
        bytes.append(lengthPrefixed: appIdentifier.utf8)
        bytes.append(lengthPrefixed: sessionName.utf8)
        self.bytes = bytes
        boundBytes = place.map { place in
            var bound = bytes
            bound.append(lengthPrefixed: place.utf8)
            return bound
        }
    }

    package var isBoundToPlace: Bool { boundBytes != nil }
}
