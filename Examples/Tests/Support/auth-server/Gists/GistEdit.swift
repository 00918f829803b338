#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a client wants a gist to be, or to become.
///
/// Source: https://docs.github.com/en/rest/gists/gists, "Create a gist" and "Update a gist".
struct GistEdit: Equatable, Sendable {
    /// What is to become of one file.
    enum File: Equatable, Sendable {
        case removed
        /// Another text, another name, or both; `nil` for the one it has.
        case changed(content: String?, name: String?)
    }

    /// The new description, which may be `null`; no value for the one it has.
    var description: String??
    var isPublic: Bool?
    /// The files that change, by the names they have; `nil` for none.
    var files: [String: File]?

    init(description: String?? = nil, isPublic: Bool? = nil, files: [String: File]? = nil) {
        self.description = description
        self.isPublic = isPublic
        self.files = files
    }

    /// - Throws: `GistError` when a member is not of its type; members that are not known are ignored.
    init(_ json: JSONObject) throws {
        switch json["description"] {
        case nil: break
        case .null: description = .some(nil)
        case .string(let text): description = text
        default: throw GistError.invalid("description")
        }
        switch json["public"] {
        case nil: break
        case .boolean(let value): isPublic = value
        // The documented form of old clients.
        case .string("true"): isPublic = true
        case .string("false"): isPublic = false
        default: throw GistError.invalid("public")
        }
        switch json["files"] {
        case nil: break
        case .object(let members): files = try members.mapValues(Self.file)
        default: throw GistError.invalid("files")
        }
    }

    private static func file(_ json: JSONValue) throws -> File {
        switch json {
        case .null: return .removed
        case .object(let members):
            func text(_ name: String) throws -> String? {
                switch members[name] {
                case nil: return nil
                case .string(let text): return text
                default: throw GistError.invalid("files")
                }
            }
            let (content, name) = (try text("content"), try text("filename"))
            // Whether an object that says nothing keeps the file or removes it is not documented.
            guard content != nil || name != nil else { throw GistError.missing("files") }
            return .changed(content: content, name: name)
        default: throw GistError.invalid("files")
        }
    }

    /// The files after the change.
    ///
    /// A file that is to be removed and is not there is removed already. A file that there is and that is to become empty is
    /// removed as well, which is how GitHub does it without saying so: https://github.com/octokit/octokit.js/issues/1629
    ///
    /// - Throws: `GistError` when a file has no text or no name, when two would have the same name, or when none is left.
    func applied(to old: [String: String]) throws -> [String: String] {
        var result = old
        for (name, change) in (files ?? [:]).sorted(by: { $0.key < $1.key }) {
            let content = result.removeValue(forKey: name)
            guard case .changed(let newContent, let newName) = change else { continue }
            let target = newName ?? name
            if content != nil, newContent == "" { continue }
            guard let text = newContent ?? content, !text.isEmpty, !target.isEmpty, result[target] == nil else {
                throw GistError.missing("files")
            }
            result[target] = text
        }
        guard !result.isEmpty else { throw GistError.missing("files") }
        return result
    }
}
