import Synchronization

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

// Code that Thread Sanitizer must accept, and code that it must report: tasks increment a number with or without a
// lock.
//
//     control locked | racing

final class Counter: Sendable {
    let locked = Mutex(0)
    nonisolated(unsafe) var racing = 0
}

@main enum Control {
    static func main() async {
        let counter = Counter()
        let isRacing = CommandLine.arguments.last == "racing"
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    // In turns, so that the first thread does not finish before the second one starts.
                    for _ in 0..<100 {
                        for _ in 0..<200 {
                            if isRacing { counter.racing += 1 } else { counter.locked.withLock { $0 += 1 } }
                        }
                        await Task.yield()
                    }
                }
            }
        }
        print(counter.racing, counter.locked.withLock { $0 })
    }
}
