import CFuzzer
import Foundation

// fuzz TARGET [option or folder of libFuzzer]…    looks for bytes that break one of the target's promises
// fuzz seeds FOLDER                               writes what can be no text file to begin with: one folder a target
// fuzz list                                       prints the names of the targets

let targets = sealingTargets + responseTargets + textTargets + importTargets
let name = CommandLine.arguments.dropFirst().first ?? "list"

if name == "list" {
    for target in targets { print(target.name) }
} else if name == "seeds", CommandLine.arguments.count == 3 {
    try writeSeeds(to: CommandLine.arguments[2])
} else if let target = targets.first(where: { $0.name == name }) {
    chosenBody = target.body
    // libFuzzer wants to see the program and its own options only.
    var count = CommandLine.argc - 1
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
    arguments![0] = CommandLine.unsafeArgv[0]
    exit(
        LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
            chosenBody(UnsafeBufferPointer(start: bytes, count: count).map(\.self))
            return 0
        })
} else {
    print("usage: fuzz list | fuzz seeds FOLDER | fuzz TARGET …")
    exit(64)
}
