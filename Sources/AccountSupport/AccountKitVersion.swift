/// The version of AccountKit, as the commands print it and the HTTP client sends it.
package let accountKitVersion = "0.1.0"
