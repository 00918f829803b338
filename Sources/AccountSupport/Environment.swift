#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

package enum Environment {
    /// Returns the value of a variable without the spaces around it, or `nil` if the variable is not set or nothing remains.
    /// A variable that is set from a file or a secret store often ends with a line break, or with the carriage return of
    /// another system.
    package static func value(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        let text = String(cString: value).trimmed
        return text.isEmpty ? nil : text
    }

    /// The home directory of the user; `nil` if there is none, or if its path is not UTF-8.
    package static var homeDirectory: String? {
        guard firstUnreadable(of: ["HOME"]) == nil else { return nil }
        if let home = value("HOME"), home.hasPrefix("/") { return home }
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        return String(validatingCString: home)
    }

    /// Returns the first of the variables whose value is not UTF-8. As a path, the text of such a value would name another
    /// file.
    package static func firstUnreadable(of names: [String]) -> String? {
        names.first { name in
            guard let value = getenv(name) else { return false }
            return String(validatingCString: value) == nil
        }
    }
}
