// The minimal cost of a Swift program: it prints as much as `whoami` does.
print("alice")
