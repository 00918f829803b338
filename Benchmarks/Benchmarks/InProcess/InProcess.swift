import Benchmark

// What is compared stands under one title, before the colon; it is run one after the other, and the whole several times.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .throughput], warmupIterations: 3, scalingFactor: .one, maxDuration: .milliseconds(300),
        maxIterations: 20_000)
    readBenchmarks()
    loadBenchmarks()
    saveBenchmarks()
    serviceBenchmarks()
    eventBenchmarks()
}
