import AccountKit

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension CommandLine {
    /// Throws an error for an argument that is not UTF-8, which would name another file. The arguments of the command that
    /// `exec` runs may have any bytes; see ``unchanged(_:)``.
    static func checkArguments() throws(AccountError) {
        for index in 1..<max(Int(argc), 1) {
            guard let argument = unsafeArgv[index] else { return }
            if strcmp(argument, "exec") == 0 { return }
            guard String(validatingCString: argument) == nil else { continue }
            throw AccountError(
                .invalidArgument, "argument \(index) is not UTF-8",
                hint: "use a name in UTF-8, or a path that avoids the name, such as a link")
        }
    }

    /// Returns copies of the last arguments of this process with their original bytes, or `words` if these are not the last
    /// arguments. The caller frees the copies.
    package static func unchanged(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
        let start = Int(argc) - words.count
        guard start > 0, arguments.suffix(words.count).elementsEqual(words) else { return words.map { strdup($0) } }
        return (start..<Int(argc)).map { index in unsafeArgv[index].flatMap { strdup($0) } }
    }
}
