#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The environment of the process, read one variable at a time.
package enum Environment {
    /// The value of a variable; `nil` if it is not set or empty.
    package static func value(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }

    /// The user's home directory: `$HOME`, else what the user database says.
    package static var homeDirectory: String? {
        if let home = value("HOME"), home.hasPrefix("/") { return home }
        guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
        return String(cString: home)
    }
}
