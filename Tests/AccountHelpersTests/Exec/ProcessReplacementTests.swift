import AccountKit
import Testing

@testable import AccountHelpers

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite struct ProcessReplacementTests {
    @Test(
        arguments: [
            ("/etc/passwd", ENOENT, 127, "/etc/passwd needs an interpreter or a dynamic loader that does not exist"),
            ("tool", EACCES, 126, "tool: permission denied"),
            ("./tool", ENOEXEC, 126, "./tool is not a program for this machine"),
        ] as [(String, Int32, Int32, String)])
    func `Explains why a program cannot be run, with the exit code of a shell`(
        program: String, code: Int32, exitCode: Int32, problem: String
    ) {
        let failure = ProcessReplacement.Failure(running: program, errno: code)
        #expect(failure.exitCode == exitCode)
        #expect(failure.error.message == problem)
    }

    @Test func `Names the command that makes a file executable`() {
        let text = ProcessReplacement.Failure(running: "/etc/passwd", errno: EACCES)
        #expect(text.error.hint == "if it is a program, run `chmod u+x /etc/passwd`")
        let hidden = ProcessReplacement.Failure(running: "./my tool", errno: EACCES)
        #expect(hidden.error.hint == "check the permissions of the file, its folders and its disk")
    }
}
