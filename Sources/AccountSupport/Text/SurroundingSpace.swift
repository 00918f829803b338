extension RandomAccessCollection<UInt8> {
    /// The bytes without what editors, shells, secret stores and copied text add around a value: white space, line breaks,
    /// byte order marks (U+FEFF), and spaces that do not break or have no width (U+00A0, U+200B).
    ///
    /// This is the rule for every value from the environment, a file, standard input or a prompt, except passwords: a
    /// password keeps its spaces. Values between other characters stay unchanged, so that two values in one file are
    /// reported, and not joined.
    package var trimmed: SubSequence {
        var rest = self[...]
        while let space = spaces.first(where: { rest.starts(with: $0) }) { rest = rest.dropFirst(space.count) }
        while let space = spaces.first(where: { rest.suffix($0.count).elementsEqual($0) }) {
            rest = rest.dropLast(space.count)
        }
        return rest
    }

    /// The first line that contains more than spaces, without the spaces around it; empty if there is none.
    package var firstLine: SubSequence {
        trimmed.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }.trimmed
    }

    /// The bytes without a byte order mark before them.
    package var withoutByteOrderMark: SubSequence { starts(with: byteOrderMark) ? dropFirst(3) : self[...] }
}

extension String {
    /// The text without the spaces around it, by the rule for bytes.
    package var trimmed: String {
        // Most values need no copy.
        if let first = utf8.first, let last = utf8.last, 0x21...0x7E ~= first, 0x21...0x7E ~= last { return self }
        let rest = Array(utf8).trimmed
        return rest.count == utf8.count ? self : String(decoding: rest, as: UTF8.self)
    }
}

private let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

private let spaces: [[UInt8]] =
    [[0x20], [0x0A], [0x0D], [0x09], [0x0B], [0x0C], byteOrderMark, [0xC2, 0xA0], [0xE2, 0x80, 0x8B]]
