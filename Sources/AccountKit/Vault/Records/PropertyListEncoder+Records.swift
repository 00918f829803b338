package import AccountSupport

extension PropertyListEncoder {
    /// An encoder for small records that are legible in an editor.
    package static var xml: PropertyListEncoder {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return encoder
    }

    /// Encodes a record. `failure` is the message if the encoding fails.
    func bytes(of record: some Encodable, failure: String) throws(AccountError) -> [UInt8] {
        do {
            return [UInt8](try encode(record))
        } catch {
            throw AccountError(.inaccessible, failure, cause: error)
        }
    }
}
