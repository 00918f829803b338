#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A client's changes to a gist, or the contents of a new one.
///
/// Source: https://docs.github.com/en/rest/gists/gists, "Create a gist" and "Update a gist".
struct GistEdit: Equatable, Sendable {
    /// The change to one file.
    enum File: Equatable, Sendable {
        case removed
        /// A new content, a new name, or both; `nil` keeps the existing one.
        case changed(content: String?, name: String?)
    }

    /// The new description, which may be `null`. Without a value, the existing one is kept.
    var description: String??
    var isPublic: Bool?
    /// The changed files by their existing names, or `nil` if none change.
    var files: [String: File]?

    init(description: String?? = nil, isPublic: Bool? = nil, files: [String: File]? = nil) {
        self.description = description
        self.isPublic = isPublic
        self.files = files
    }

    /// - Throws: `GistError` if a member has the wrong type. Unknown members are ignored.
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
        // Old clients send this documented form.
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
            // It is not documented whether an empty object keeps or removes the file.
            guard content != nil || name != nil else { throw GistError.missing("files") }
            return .changed(content: content, name: name)
        default: throw GistError.invalid("files")
        }
    }

    /// The files after the change.
    ///
    /// Removing a missing file has no effect. An existing file whose new content is empty is removed, too, which is
    /// GitHub's undocumented behavior: https://github.com/octokit/octokit.js/issues/1629
    ///
    /// - Throws: `GistError` if a file has no content or no name, if two files would have the same name, or if none is
    ///   left.
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
