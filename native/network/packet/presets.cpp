#include "network/packet/presets.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "network/packet/options.hpp"

namespace yantra::packet {

namespace {

constexpr double base_gbps = 25.0;   // to which the generator's numbers belong
constexpr double megabit = 1e6;

void mark_between(Settings& to, double gbps, double kmin_kb, double kmax_kb, double pmax) {
    to.limits = {{gbps, kmin_kb * 1000.0, kmax_kb * 1000.0, pmax}};
}

void use_dcqcn(Settings& to, double gbps, double alpha_us, double decrease_us, double increase_us) {
    const double scale = gbps / base_gbps;
    to.congestion_control = "dcqcn";
    to.options = {{"alpha_interval", alpha_us * 1000.0},
                  {"decrease_interval", decrease_us * 1000.0},
                  {"increase_interval", increase_us * 1000.0},
                  {"gain", 1.0 / 256},
                  {"additive_increase", 5.0 * scale * megabit},
                  {"hyper_increase", 50.0 * scale * megabit}};
    mark_between(to, gbps, 100.0 * scale, 400.0 * scale, 0.2);
}

void without_window(Settings& to) {
    to.has_window = false;
    to.acks_first = true;
}

void with_variable_window(Settings& to) {
    to.has_window = true;
    to.variable_window = true;
}

void use_timely(Settings& to, double gbps) {
    to.congestion_control = "timely";
    to.options = {{"additive_increase", gbps * megabit}, {"hyper_increase", 5.0 * gbps * megabit}};
}

void use_swift(Settings& to) {
    to.congestion_control = "swift";
    without_window(to);
}

void use_tcp(Settings& to, const char* scheme) {
    constexpr double silence_ns = 5e6;
    to.congestion_control = scheme;
    to.options = {{"least_silence", silence_ns}, {"first_silence", silence_ns}};
    to.has_window = false;
    to.pauses = false;
}

void use_uec(Settings& to, double gbps, const char* scheme) {
    to.congestion_control = scheme;
    to.recovery = RecoveryKind::selective_repeat;
    to.has_window = false;
    to.acks_first = true;
    to.pauses = false;
    to.reordering = 0;
    to.trims = true;
    to.port_buffer_bytes = static_cast<u64>(1500.0 * gbps);   // of 12 us
    to.ack_every_bytes = 16384;
    to.retransmission_ns = 1e5;
    mark_between(to, gbps, 0.3 * gbps, 1.2 * gbps, 1.0);
}

void use_hpcc(Settings& to, double gbps, const char* scheme) {
    to.congestion_control = scheme;
    to.options = {{"additive_increase", 10.0 * gbps / base_gbps * megabit}, {"target_utilisation", 0.95}};
    with_variable_window(to);
}

std::vector<Preset> presets_of_dcqcn() {
    return {
        {"dcqcn", "DCQCN as NICs have it, no window",
         [](Settings& to, double gbps) {
             use_dcqcn(to, gbps, 1.0, 4.0, 300.0);
             without_window(to);
         }},
        {"dcqcn_paper", "DCQCN as NICs have it with the timers of its paper, no window",
         [](Settings& to, double gbps) {
             use_dcqcn(to, gbps, 50.0, 50.0, 55.0);
             without_window(to);
         }},
        {"dcqcn_paper_vwin", "the same with a window in proportion to the rate",
         [](Settings& to, double gbps) {
             use_dcqcn(to, gbps, 50.0, 50.0, 55.0);
             with_variable_window(to);
         }},
        {"dcqcn_published", "DCQCN as its paper has it: cuts at once, CNPs 50 us apart, a byte counter",
         [](Settings& to, double gbps) {
             use_dcqcn(to, gbps, 55.0, 50.0, 55.0);
             to.options["by_timer"] = 0.0;
             to.options["cnp_interval"] = 50000.0;
             to.options["fast_recovery_steps"] = 5.0;
             to.options["byte_counter"] = 1e7;
             to.options["additive_increase"] = 40.0 * megabit;
             to.options["hyper_increase"] = 200.0 * megabit;
             without_window(to);
         }},
        {"dcqcn_vwin", "DCQCN as NICs have it with a window in proportion to the rate",
         [](Settings& to, double gbps) {
             use_dcqcn(to, gbps, 1.0, 4.0, 300.0);
             with_variable_window(to);
         }},
    };
}

std::vector<Preset> other_presets() {
    return {
        {"cubic", "TCP CUBIC over switches that drop, silences of 5 ms",
         [](Settings& to, double) { use_tcp(to, "cubic"); }},
        {"dctcp", "DCTCP as a rate, marks in one step",
         [](Settings& to, double gbps) {
             to.congestion_control = "dctcp";
             to.options = {{"gain", 1.0 / 16}, {"additive_increase", 615.0 * megabit}};
             with_variable_window(to);
             mark_between(to, gbps, 3.0 * gbps, 3.0 * gbps, 1.0);
         }},
        {"hpcc95", "HPCC with a target of 95 %",
         [](Settings& to, double gbps) {
             use_hpcc(to, gbps, "hpcc");
             to.options["telemetry_units"] = std::max(1.0, gbps / base_gbps);
         }},
        {"hpcc_pint", "HPCC of one byte per packet, base 1.01",
         [](Settings& to, double gbps) {
             use_hpcc(to, gbps, "hpcc_pint");
             to.options["log_base"] = 1.01;
         }},
        {"newreno", "TCP NewReno over switches that drop, silences of 5 ms",
         [](Settings& to, double) { use_tcp(to, "newreno"); }},
        {"none", "the rate of the line; only pauses hold it", [](Settings& to, double) { to.has_window = false; }},
        {"static_window", "the rate of the line and a window of one bandwidth-delay product",
         [](Settings&, double) {}},
        {"swift", "Swift: a window by delay, ACKs first", [](Settings& to, double) { use_swift(to); }},
        {"timely", "TIMELY, no window",
         [](Settings& to, double gbps) {
             use_timely(to, gbps);
             without_window(to);
         }},
        {"uec", "as Ultra Ethernet: NSCC, trimming, coalesced ACKs, no pauses; meant for the routing spray",
         [](Settings& to, double gbps) { use_uec(to, gbps, "nscc"); }},
        {"uec_credits", "the same with receivers' credits (RCCC) in place of NSCC; uec with credits has both",
         [](Settings& to, double gbps) {
             use_uec(to, gbps, "none");
             to.credits = 4;
         }},
        {"timely_vwin", "TIMELY with a window in proportion to the rate",
         [](Settings& to, double gbps) {
             use_timely(to, gbps);
             with_variable_window(to);
             to.acks_first = true;
         }},
    };
}

bool has_preset(const std::vector<Preset>& some, const Scheme& scheme) {
    return std::any_of(some.begin(), some.end(), [&scheme](const Preset& preset) {
        Settings made;
        preset.make(made, base_gbps);
        return preset.name == scheme.name || made.congestion_control == scheme.name;
    });
}

std::vector<Preset> presets_of_schemes(const std::vector<Preset>& others) {
    std::vector<Preset> made;
    for (const Scheme& scheme : schemes()) {
        if (!has_preset(others, scheme)) {
            made.push_back({scheme.name, scheme.help, [scheme](Settings& to, double gbps) {
                                to.congestion_control = scheme.name;
                                if (scheme.beside != nullptr) {
                                    scheme.beside(to, gbps);
                                }
                            }});
        }
    }
    return made;
}

}  // namespace

const std::vector<Preset>& presets() {
    static const std::vector<Preset> all = [] {
        std::vector<Preset> made = presets_of_dcqcn();
        for (const Preset& preset : other_presets()) {
            made.push_back(preset);
        }
        for (const Preset& preset : presets_of_schemes(made)) {
            made.push_back(preset);
        }
        std::sort(made.begin(), made.end(), [](const Preset& a, const Preset& b) { return a.name < b.name; });
        return made;
    }();
    return all;
}

std::string preset_of(std::string_view scheme) {
    for (const Preset& preset : presets()) {
        Settings made;
        preset.make(made, base_gbps);
        if (made.congestion_control == scheme && preset.name != "none") {
            return preset.name;
        }
    }
    scheme_named(scheme);
    return "static_window";   // if another congestion control is chosen
}

Settings settings_of(std::string_view preset, double host_gbps, const std::string& scheme,
                     const std::map<std::string, double>& options) {
    const std::vector<Preset>& all = presets();
    const auto found = std::find_if(all.begin(), all.end(), [preset](const Preset& p) { return p.name == preset; });
    if (found == all.end()) {
        throw std::invalid_argument("no preset is named '" + std::string(preset) + "'");
    }
    Settings made;
    // 16 MB at 50 Gb/s, as in the generator.
    made.buffer_bytes = static_cast<u64>(16.0 * host_gbps / 50.0 * 1024.0 * 1024.0);
    found->make(made, host_gbps);
    if (!scheme.empty() && scheme != made.congestion_control) {
        made.congestion_control = scheme;
        made.options.clear();
    }
    if (const Scheme* of = find_scheme(made.congestion_control); of != nullptr && of->recovery) {
        made.recovery = *of->recovery;
    }
    change(made, options);
    return made;
}

}  // namespace yantra::packet
