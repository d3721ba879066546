// The extension module yantra._core: one register function per part of the core.
#include <nanobind/nanobind.h>

NB_MODULE(_core, module) { module.doc() = "Native core of Yantra; an implementation detail."; }
