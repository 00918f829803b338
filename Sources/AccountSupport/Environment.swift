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

    package static var homeDirectory: String? {
        if let home = value("HOME"), home.hasPrefix("/") { return home }
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        return String(cString: home)
    }
}
