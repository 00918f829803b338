/// The version of AccountKit, which the commands print and the HTTP client sends.
package let accountKitVersion = "0.1.0"
