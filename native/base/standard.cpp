// Nothing: what the precompiled header of CMakeLists.txt hangs on.
