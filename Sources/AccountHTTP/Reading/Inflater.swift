import AccountCrypto

/// Decompresses a body with DEFLATE (RFC 1951).
///
/// AccountKit asks for uncompressed responses, so this is only for servers and gateways that compress anyway. The HTTP client
/// could decompress too, but it relies on the label of a response, discards a cut or mislabelled body as a whole, and leaves
/// copies of the tokens in its buffers.
struct Inflater {
    enum Failure: Error {
        case invalid

        /// The result is longer than the limit.
        case tooLong
    }

    private let input: WipedBytes
    private var index: Int
    private let limit: Int
    private var output = WipedBytes()
    private var bits: UInt32 = 0
    private var bitCount = 0

    private init(_ input: WipedBytes, from index: Int, limit: Int) {
        self.input = input
        self.index = index
        self.limit = limit
    }

    private static let gzipStart: [UInt8] = [0x1F, 0x8B, 0x08]

    static func isGzip(_ body: WipedBytes) -> Bool { body.starts(with: gzipStart) }

    /// Decompresses a gzip file (RFC 1952) of one or more members. Lengths and checksums don't count, because the content is
    /// checked when it is parsed. The result of a damaged file ends where the damage begins.
    static func gunzipped(_ body: WipedBytes, limit: Int) throws(Failure) -> WipedBytes {
        var inflater = Inflater(body, from: 0, limit: limit)
        do throws(Failure) {
            repeat {
                try inflater.skipGzipHeader()
                try inflater.inflate()
                inflater.skipTrailer()
            } while inflater.isAtGzip
        } catch {
            guard error == .invalid, !inflater.output.isEmpty else { throw error }
        }
        return inflater.output
    }

    static func isZlib(_ body: WipedBytes) -> Bool {
        body.count > 2 && body[0] & 0x0F == 8 && (Int(body[0]) << 8 + Int(body[1])).isMultiple(of: 31)
    }

    /// Decompresses the coding `deflate`: the format of zlib (RFC 1950) or, from some servers, DEFLATE alone. The result of
    /// damaged data in the format of zlib ends where the damage begins.
    static func inflated(_ body: WipedBytes, limit: Int) throws(Failure) -> WipedBytes {
        let isZlib = isZlib(body)
        var inflater = Inflater(body, from: isZlib ? 2 : 0, limit: limit)
        do throws(Failure) {
            try inflater.inflate()
        } catch {
            guard error == .invalid, isZlib, !inflater.output.isEmpty else { throw error }
        }
        return inflater.output
    }

    private var isAtGzip: Bool { input[index...].starts(with: Self.gzipStart) }

    private mutating func skipGzipHeader() throws(Failure) {
        guard isAtGzip, index + 10 < input.count else { throw .invalid }
        let flags = input[index + 3]
        index += 10
        if flags & 4 != 0 {
            guard index + 2 <= input.count else { throw .invalid }
            index += 2 + Int(input[index]) + Int(input[index + 1]) << 8
        }
        // The name of the file, and a comment.
        for flag in [8, 16] as [UInt8] where flags & flag != 0 {
            while index < input.count, input[index] != 0 { index += 1 }
            index += 1
        }
        if flags & 2 != 0 { index += 2 }
    }

    /// Skips the rest of the last byte, the checksum and the length.
    private mutating func skipTrailer() {
        (bits, bitCount) = (0, 0)
        index = min(index + 8, input.count)
    }

    private mutating func inflate() throws(Failure) {
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try decode(.fixedLengths, .fixedDistances)
            case 2:
                let (lengths, distances) = try dynamicCodes()
                try decode(lengths, distances)
            default: throw .invalid
            }
        }
    }

    /// Takes up to 16 bits, the lowest first.
    private mutating func take(_ count: Int) throws(Failure) -> Int {
        while bitCount < count {
            guard index < input.count else { throw .invalid }
            bits |= UInt32(input[index]) << UInt32(bitCount)
            index += 1
            bitCount += 8
        }
        let value = bits & (1 << UInt32(count) - 1)
        bits >>= UInt32(count)
        bitCount -= count
        return Int(value)
    }

    private mutating func put(_ byte: UInt8) throws(Failure) {
        guard output.count < limit else { throw .tooLong }
        output.append(byte)
    }

    private mutating func copyStored() throws(Failure) {
        (bits, bitCount) = (0, 0)
        let count = try take(16)
        guard try take(16) == count ^ 0xFFFF else { throw .invalid }
        for _ in 0..<count {
            guard index < input.count else { throw .invalid }
            try put(input[index])
            index += 1
        }
    }

    private mutating func decode(_ lengths: Code, _ distances: Code) throws(Failure) {
        while true {
            let symbol = try self.symbol(lengths)
            switch symbol {
            case 0..<256: try put(UInt8(symbol))
            case 256: return
            default:
                guard symbol - 257 < Self.lengthBases.count else { throw .invalid }
                let length = Self.lengthBases[symbol - 257] + (try take(Self.lengthBits[symbol - 257]))
                let place = try self.symbol(distances)
                guard place < Self.distanceBases.count else { throw .invalid }
                let distance = Self.distanceBases[place] + (try take(place < 4 ? 0 : place / 2 - 1))
                guard distance <= output.count else { throw .invalid }
                for _ in 0..<length { try put(output[output.count - distance]) }
            }
        }
    }

    private mutating func dynamicCodes() throws(Failure) -> (Code, Code) {
        let lengthCount = try take(5) + 257
        let distanceCount = try take(5) + 1
        var own = Array(repeating: 0, count: 19)
        for place in Self.order.prefix(try take(4) + 4) { own[place] = try take(3) }
        let code = try Code(own)
        var all: [Int] = []
        while all.count < lengthCount + distanceCount {
            let symbol = try self.symbol(code)
            switch symbol {
            case 0..<16: all.append(symbol)
            case 16:
                guard let last = all.last else { throw .invalid }
                all += Array(repeating: last, count: 3 + (try take(2)))
            case 17: all += Array(repeating: 0, count: 3 + (try take(3)))
            default: all += Array(repeating: 0, count: 11 + (try take(7)))
            }
        }
        guard all.count == lengthCount + distanceCount else { throw .invalid }
        return (try Code(Array(all[..<lengthCount])), try Code(Array(all[lengthCount...])))
    }

    /// Decodes a symbol, bit by bit.
    private mutating func symbol(_ code: Code) throws(Failure) -> Int {
        var (value, first, place) = (0, 0, 0)
        for length in 1..<code.counts.count {
            value |= try take(1)
            let count = code.counts[length]
            if value - count < first { return code.symbols[place + value - first] }
            place += count
            first = (first + count) << 1
            value <<= 1
        }
        throw .invalid
    }

    /// A Huffman code (RFC 1951, section 3.2.2).
    private struct Code: Sendable {
        /// The number of codes of each length in bits; length 0 means that a symbol does not occur.
        var counts = Array(repeating: 0, count: 16)

        /// The symbols in the order of their codes.
        var symbols: [Int] = []

        /// - Parameter lengths: The lengths of the codes of all symbols, each at most 15.
        init(_ lengths: [Int]) throws(Failure) {
            for length in lengths where length > 0 { counts[length] += 1 }
            var free = 1
            for length in 1..<counts.count {
                free = free << 1 - counts[length]
                guard free >= 0 else { throw .invalid }
            }
            for length in 1..<counts.count {
                for (symbol, other) in lengths.enumerated() where other == length { symbols.append(symbol) }
            }
        }

        private init(fixed lengths: [Int]) {
            for length in lengths { counts[length] += 1 }
            for length in 1..<counts.count {
                for (symbol, other) in lengths.enumerated() where other == length { symbols.append(symbol) }
            }
        }

        static let fixedLengths = Code(
            fixed: Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112) + Array(repeating: 7, count: 24)
                + Array(repeating: 8, count: 8))
        static let fixedDistances = Code(fixed: Array(repeating: 5, count: 30))
    }

    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    private static let distanceBases = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
        6145,
        8193, 12_289, 16_385, 24_577,
    ]
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
}
