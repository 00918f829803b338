import ArgumentParser

/// A number of seconds, which the help shows without a fraction of zero.
struct Seconds: ExpressibleByArgument {
    var count: Double

    var defaultValueDescription: String { count == count.rounded() ? String(Int64(count)) : String(count) }

    init(_ count: Double) { self.count = count }

    init?(argument: String) {
        guard let count = Double(argument) else { return nil }
        self.count = count
    }
}
