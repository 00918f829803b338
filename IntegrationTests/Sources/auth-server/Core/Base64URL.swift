#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Sequence<UInt8> {
    /// The bytes in base64url without padding.
    ///
    /// Source: RFC 4648, section 5; RFC 7515, section 2.
    var base64URL: String {
        Data(self).base64EncodedString()
            .replacing("+", with: "-")
            .replacing("/", with: "_")
            .replacing("=", with: "")
    }
}
