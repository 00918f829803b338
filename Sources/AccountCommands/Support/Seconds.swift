import ArgumentParser

/// A number of seconds, 0 or more.
struct Seconds: ExpressibleByArgument {
    let count: Double

    var defaultValueDescription: String { count == count.rounded() ? String(Int64(count)) : String(count) }

    init(_ count: Double) { self.count = count }

    init?(argument: String) {
        guard let count = Double(argument), count >= 0, count.isFinite else { return nil }
        self.count = count
    }
}
