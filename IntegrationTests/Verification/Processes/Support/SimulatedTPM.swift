@testable import EndToEndSupport
import Foundation

/// A TPM 2.0 that `swtpm` simulates.
struct SimulatedTPM: Sendable {
    private let port: Int

    /// A folder with programs that come first in the search path.
    fileprivate let programs: String

    /// The variables that make tpm2-tools and systemd use this TPM.
    fileprivate var variables: [String: String] {
        let device = "swtpm:host=127.0.0.1,port=\(port)"
        return ["TPM2TOOLS_TCTI": device, "SYSTEMD_TPM2_DEVICE": device, "TSS2_LOG": "all+NONE"]
    }

    /// Runs a TPM during the test. A later TPM with the same name has the same seeds and keys.
    static func run<Result: Sendable>(
        named name: String = "tpm", in container: Container, _ test: (SimulatedTPM) async throws -> Result
    ) async throws -> Result {
        let (state, programs) = (container.path(name), container.path("programs"))
        for folder in [state, programs] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        // The simulator has no resource manager, which would close the sessions that systemd-creds leaves open.
        let script = "#!/bin/sh\n/usr/bin/systemd-creds \"$@\"; status=$?\ntpm2_flushcontext -l\nexit $status\n"
        try container.write(script.utf8, to: programs + "/systemd-creds", permissions: 0o700)
        // The library expects the control channel at the next port.
        let port = try FreePort.findPair()
        // The simulator does not report when it listens.
        let start = #"""
            (until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do kill -0 $$ || exit; done; echo "listening on $1") &
            exec swtpm socket --tpm2 --server "type=tcp,port=$1,disconnect" --ctrl "type=tcp,port=$2" \
                --flags startup-clear,not-need-init --tpmstate "dir=$3"
            """#
        let words = ["bash", "-c", start, "bash", String(port), String(port + 1), state]
        return try await ServerProcess.run(Command(words: words, environment: container.environment)) { _ in
            try await test(SimulatedTPM(port: port, programs: programs))
        }
    }

    /// Runs lines of `sh` that use the TPM.
    func run(_ lines: [String], environment: [String: String]) async throws -> Outcome {
        // Nor does the simulator flush the objects that a program leaves behind.
        let script = (["PATH='\(programs)':$PATH"] + lines).joined(separator: "\ntpm2_flushcontext -t\n")
        return try await Command(words: ["sh", "-ec", script], environment: environment.merging(variables) { $1 }).run()
    }
}

extension Tool {
    /// Returns this command on the machine with a TPM.
    func with(_ tpm: SimulatedTPM) -> Tool {
        Tool(
            path: "env", environment: environment.merging(tpm.variables) { $1 },
            prefix: ["PATH=\(tpm.programs):\(Command.searchPath)", path] + prefix)
    }
}
