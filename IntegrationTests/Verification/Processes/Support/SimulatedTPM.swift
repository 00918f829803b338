@testable import EndToEndSupport
import Foundation

/// A TPM 2.0 that `swtpm` simulates, and the programs of tpm2-tools.
struct SimulatedTPM: Sendable {
    private let port: Int

    /// The value of `TPM2TOOLS_TCTI`.
    var device: String { "swtpm:host=127.0.0.1,port=\(port)" }

    /// The value of `TPM2TOOLS_TCTI` for a program on the bus of the chip, which passes on all messages.
    var bus: String { "cmd:exec python3 -B '\(BuiltProducts.fixture("tpm_bus.py"))' \(port)" }

    /// The same, but the program alters the key in the response to the command that unseals it.
    var alteringBus: String { bus + " 0x15E 20" }

    /// Runs a TPM during the test. A later TPM with the same name has the same seeds.
    static func run<Result: Sendable>(
        named name: String = "tpm", in container: Container, _ test: (SimulatedTPM) async throws -> Result
    ) async throws -> Result {
        let state = container.path(name)
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        // The library expects the control channel at the next port.
        let port = try FreePort.findPair()
        // The simulator does not report when it listens.
        let script = #"""
            (until (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do kill -0 $$ || exit; done; echo "listening on $1") &
            exec swtpm socket --tpm2 --server "type=tcp,port=$1,disconnect" --ctrl "type=tcp,port=$2" \
                --flags startup-clear,not-need-init --tpmstate "dir=$3"
            """#
        let words = ["bash", "-c", script, "bash", String(port), String(port + 1), state]
        return try await ServerProcess.run(Command(words: words, environment: container.environment)) { _ in
            try await test(SimulatedTPM(port: port))
        }
    }

    /// Runs a script with programs of tpm2-tools. The simulator has no resource manager, so the script must flush the
    /// objects that it loads.
    func run(_ script: String, in container: Container) async throws -> Outcome {
        let environment = container.environment.merging(["TPM2TOOLS_TCTI": device, "TSS2_LOG": "all+NONE"]) { $1 }
        return try await Command(
            words: ["sh", "-ec", "cd \"$0\"\n" + script, container.path("temporary")], environment: environment
        ).run()
    }
}

extension Tool {
    /// Returns this command on the machine with a TPM.
    func with(_ tpm: SimulatedTPM) -> Tool { dynamic.with("TPM2TOOLS_TCTI", tpm.device) }
}
