#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension Error {
    /// The reason for the user. `nil` if the error's description is only for developers, such as that of Foundation, or that
    /// which Swift makes from the names of a type and its cases.
    ///
    /// A decoder's description repeats values of a response and names Swift types, so the reason names only the place.
    package var reason: String? {
        switch self {
        case let error as DecodingError: error.flaw
        case is EncodingError: "a value has no form in this format"
        case let error as CocoaError: error.words
        default: "\(type(of: self))" == "NSError" ? nil : ownDescription
        }
    }

    /// The description that the type of the error defines; `nil` if Swift makes it from the names of the type and its cases.
    package var ownDescription: String? { (self as? any CustomStringConvertible)?.description }
}

extension DecodingError {
    /// The place and the kind of the flaw, without values.
    fileprivate var flaw: String {
        func place(_ path: [any CodingKey]) -> String {
            let names = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
            return names.isEmpty ? "the whole value" : names.joined(separator: ".")
        }
        return switch self {
        case .keyNotFound(let key, let context): "\(place(context.codingPath + [key])) is missing"
        case .valueNotFound(_, let context): "\(place(context.codingPath)) is null"
        case .typeMismatch(_, let context): "\(place(context.codingPath)) has another type"
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            "it is not JSON, or has a number that does not fit its field"
        case .dataCorrupted(let context): "\(place(context.codingPath)) has an invalid value"
        @unknown default: "it is not the expected JSON"
        }
    }
}

extension CocoaError {
    fileprivate var words: String? {
        switch code {
        case .fileNoSuchFile, .fileReadNoSuchFile: "there is no such file"
        case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
        case .fileWriteOutOfSpace: "the disk is full"
        case .fileWriteVolumeReadOnly: "the disk is read-only"
        case .fileReadTooLarge: "the file is too large"
        case .propertyListReadCorrupt: "it is not in the expected format"
        default: (userInfo["NSUnderlyingError"] as? POSIXError)?.words
        }
    }
}

extension POSIXError {
    fileprivate var words: String? {
        switch code {
        case .EISDIR: "it is a folder"
        case .ENOTDIR: "a part of its path is not a folder"
        case .ENAMETOOLONG: "its name is too long"
        case .ELOOP: "its links lead in a circle"
        case .EIO: "the disk failed"
        default: nil
        }
    }
}
