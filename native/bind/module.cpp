// The extension module yantra._core: one register function per part. Classes named in others'
// signatures come first.
#include <cstddef>
#include <cstdlib>

#include "base/ensure.hpp"
#include "base/too_long.hpp"
#include "bind/choices.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "base/unsupported.hpp"

namespace {

// glibc would return free memory beyond 128 KiB, and short runs get every page anew.
void keep_free_memory() {
    constexpr std::size_t most = std::size_t{4} << 20U;
    void* volatile piece = std::malloc(most);   // never written, so it costs no page
    std::free(piece);
}

}  // namespace

NB_MODULE(_core, module) {
    namespace nb = nanobind;
    keep_free_memory();
    yantra::hear_signals_in_this_thread();
    module.doc() = "Native core of Yantra; an implementation detail.";
    nb::set_leak_warnings(false);  // an ending command leaves its objects uncollected
    nb::exception<yantra::InternalFault>(module, "InternalFault", PyExc_RuntimeError);
    nb::exception<yantra::Unsupported>(module, "Unsupported");
    nb::exception<yantra::TooLong>(module, "TooLong");
    yantra::register_stops(module);
    yantra::register_choices(module);
    yantra::register_graph(module);
    yantra::register_surveys(module);
    yantra::register_trace(module);
    yantra::register_replay(module);
    yantra::register_linked(module);
    yantra::register_linking(module);
    yantra::register_recorder(module);
    yantra::register_player(module);
    yantra::register_templates(module);
    yantra::register_parameters(module);
    yantra::register_fabric(module);
    yantra::register_flows(module);
    yantra::register_packets(module);
    yantra::register_seen_packets(module);
    yantra::register_noc(module);
    yantra::register_networks(module);
    yantra::register_jobs(module);
    yantra::register_schedules(module);
    yantra::register_builder(module);
    yantra::register_outcome(module);
    yantra::register_folding(module);
    yantra::register_simulation(module);
    yantra::register_recording(module);
    yantra::register_timelines(module);
    yantra::register_tables(module);
    yantra::register_arrow(module);
    yantra::register_synthesis(module);
    yantra::register_serving(module);
    yantra::register_post_training(module);
}
