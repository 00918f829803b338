/// A name from a file as it may stand in a message: short, and without characters that steer a terminal.
enum DisplayName {
    static func of(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars.prefix(64) {
            let isPlain = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            result.unicodeScalars.append(isPlain || "_-.$: ".unicodeScalars.contains(scalar) ? scalar : "?")
        }
        return name.unicodeScalars.count > 64 ? result + "…" : result
    }
}
