// The extension module yantra._core: one register function per part of the core.
#include <nanobind/nanobind.h>

#include "bind/export_bind.hpp"
#include "bind/layout_bind.hpp"
#include "bind/recording_bind.hpp"
#include "bind/sim_bind.hpp"
#include "bind/template_bind.hpp"
#include "bind/trace_bind.hpp"

NB_MODULE(_core, module) {
    module.doc() = "Native core of Yantra; an implementation detail.";
    yantra::register_trace(module);
    yantra::register_templates(module);
    yantra::register_simulation(module);
    yantra::register_layout(module);
    yantra::register_export(module);
    yantra::register_recording(module);
}
