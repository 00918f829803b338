#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Decides which symbolic links AccountKit follows. With a link, another user could make AccountKit change any file of
/// this user.
///
/// In a sticky folder such as `/tmp`, some kernels refuse to follow links of other users (proc(5), `protected_symlinks`).
/// AccountKit does not rely on this.
package enum TrustedLinks {
    // As in the kernel (path_resolution(7)).
    private static let maximumCount = 40

    /// Returns a path to the same file, whether it exists or not, without links.
    ///
    /// - Throws: `insecureContainer` if a link on the way, or the folder that contains the link, belongs neither to this
    ///   user nor to root; `inaccessible` if the path cannot be inspected.
    package static func resolve(_ path: String) throws(AccountError) -> String {
        var resolved = path.hasPrefix("/") ? "" : "."
        var rest = Array(path.split(separator: "/").reversed())
        var count = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            // As `resolved` contains no links, `..` in it means its parent.
            let place = resolved + "/" + name
            let status = try mapping(path) { () throws(SystemCallError) in try SystemCall.status(place) }
            guard let status, status.kind == .symbolicLink else {
                resolved = place
                continue
            }
            count += 1
            guard count <= maximumCount else {
                throw AccountError(
                    .inaccessible, "\(path) cannot be used", cause: SystemCallError("readlink", path, errno: ELOOP))
            }
            try check(place, status, in: resolved.isEmpty ? "/" : resolved)
            let target = try mapping(path) { () throws(SystemCallError) in try SystemCall.linkTarget(place) }
            if target.hasPrefix("/") { resolved = "" }
            rest += target.split(separator: "/").reversed()
        }
        return resolved.isEmpty ? "/" : resolved
    }

    /// Returns the status of a file or folder, through links that ``resolve(_:)`` follows; `nil` if there is none.
    package static func targetStatus(_ path: String) throws(AccountError) -> FileStatus? {
        let status = try mapping(path) { () throws(SystemCallError) in try SystemCall.status(path) }
        guard status?.kind == .symbolicLink else { return status }
        let target = try resolve(path)
        return try mapping(path) { () throws(SystemCallError) in try SystemCall.status(target) }
    }

    private static func check(_ link: String, _ status: FileStatus, in folder: String) throws(AccountError) {
        let container = try mapping(folder) { () throws(SystemCallError) in try SystemCall.status(folder) }
        for (what, owner) in [("a link", status.owner), ("a link in a folder", container?.owner ?? 0)]
        where owner != SystemCall.effectiveUser && owner != 0 {
            throw AccountError(
                .insecureContainer,
                "\(link) is \(what) of \(SystemCall.userName(owner)), and AccountKit follows only links of "
                    + "\(SystemCall.userName(SystemCall.effectiveUser)) and root",
                hint: "name the file or folder that the link leads to, if you trust it")
        }
    }
}
