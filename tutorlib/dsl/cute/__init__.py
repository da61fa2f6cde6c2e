"""The CuTe DSL's undocumented names that the course uses."""
