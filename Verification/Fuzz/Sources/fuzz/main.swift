import CFuzzer
import Foundation

// fuzz TARGET [libFuzzer option or folder]…    searches for bytes that violate one of the target's guarantees
// fuzz seeds FOLDER                            writes the binary seeds: one folder for each target
// fuzz list                                    prints the names of the targets

let targets = sealingTargets + responseTargets + textTargets + messageTargets
let name = CommandLine.arguments.dropFirst().first ?? "list"

if name == "list" {
    for target in targets { print(target.name) }
} else if name == "seeds", CommandLine.arguments.count == 3 {
    try writeSeeds(to: CommandLine.arguments[2])
} else if let target = targets.first(where: { $0.name == name }) {
    chosenBody = target.body
    // libFuzzer expects only the program and its own options.
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
