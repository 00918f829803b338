package import AccountKit

extension Secret {
    /// Checks that the token can be sent in a header and on a single line (RFC 6749, appendix A.12).
    package func fitForHeader() throws(AccountError) -> Secret {
        let isFit = withBytes { span in
            span.byteCount > 0
                && span.byteOffsets.allSatisfy { 0x21...0x7E ~= span.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
        guard isFit else {
            throw AccountError(
                .misconfigured,
                "the token contains characters that are not valid in a header, so it is not passed on",
                hint: "sign in again")
        }
        return self
    }
}
