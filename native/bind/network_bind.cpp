// Python's view of the networks: the core's levels, and Python classes as networks.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/never.hpp"
#include "base/unsupported.hpp"
#include "bind/choices.hpp"
#include "bind/fields.hpp"
#include "bind/network_from_python.hpp"
#include "bind/parts.hpp"
#include "network/level.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra {

namespace {

struct PythonPort {
    NetworkPort* port = nullptr;

    NetworkPort& open() const {
        if (port == nullptr) {
            throw Unsupported("the run of this network is over");
        }
        return *port;
    }
};

class PythonNetwork final : public NetworkFromOutside {
public:
    PythonNetwork(const nb::object& make, NetworkPort& port) : port_(std::make_shared<PythonPort>()) {
        port_->port = &port;
        network_ = make(port_);
        sends_ = network_.attr("sends");
        wakes_ = network_.attr("wakes");
    }
    ~PythonNetwork() override {
        const nb::gil_scoped_acquire locked;
        port_->port = nullptr;
        try {
            network_.attr("closes")();
        } catch (nb::python_error& error) {
            error.discard_as_unraisable(network_);
        }
        sends_.reset();
        wakes_.reset();
        network_.reset();
    }
    PythonNetwork(const PythonNetwork&) = delete;
    PythonNetwork& operator=(const PythonNetwork&) = delete;

    void sends(u32 message, u32 src, u32 dst, u64 bytes, std::span<const u32> route) override {
        const nb::gil_scoped_acquire locked;
        nb::list links;
        for (u32 link : route) {
            links.append(link);
        }
        sends_(message, src, dst, bytes, links);
    }
    void wakes(u32 token) override {
        const nb::gil_scoped_acquire locked;
        wakes_(token);
    }

private:
    std::shared_ptr<PythonPort> port_;
    nb::object network_;
    nb::object sends_;
    nb::object wakes_;
};

class PythonFactory final : public NetworkFactory {
public:
    PythonFactory(nb::object make, bool wants_routes) : make_(std::move(make)), wants_routes_(wants_routes) {}
    ~PythonFactory() override {
        const nb::gil_scoped_acquire locked;
        make_.reset();
    }
    PythonFactory(const PythonFactory&) = delete;
    PythonFactory& operator=(const PythonFactory&) = delete;

    std::unique_ptr<NetworkFromOutside> make(NetworkPort& port) const override {
        const nb::gil_scoped_acquire locked;
        return std::make_unique<PythonNetwork>(make_, port);
    }
    bool wants_routes() const override { return wants_routes_; }

private:
    nb::object make_;
    bool wants_routes_;
};

std::vector<std::string> names_of_traits(const NetworkLevel& level) {
    std::vector<std::string> names;
    for (const TraitLine& line : network_traits) {
        if (level.traits.has(line.trait)) {
            names.emplace_back(line.name);
        }
    }
    return names;
}

}  // namespace

std::shared_ptr<const NetworkFactory> network_from_python(nb::object make, bool wants_routes) {
    return std::make_shared<PythonFactory>(std::move(make), wants_routes);
}

void register_networks(nb::module_& module) {
    Class<NetworkOption>(module, "NetworkOption")
        .field("name", &NetworkOption::name)
        .field("unit", &NetworkOption::unit)
        .field("fallback", &NetworkOption::fallback)
        .field("least", &NetworkOption::least)
        .field("help", &NetworkOption::help)
        .field("choices", &NetworkOption::choices)
        .field("by_rate", &NetworkOption::by_rate);
    Choices<FlowLists>(module, "FlowLists")
        .value("AS_MESSAGES", FlowLists::as_messages)
        .value("ALONE", FlowLists::alone)
        .value("STORED", FlowLists::stored)
        .value("SHARED", FlowLists::shared)
        .value("PACKETS", FlowLists::packets);
    nb::class_<TraitLine>(module, "NetworkTrait")
        .def_prop_ro("name", [](const TraitLine& line) { return std::string(line.name); })
        .def_prop_ro("meaning", [](const TraitLine& line) { return std::string(line.meaning); });
    module.def("network_traits", [] { return std::vector<TraitLine>(network_traits.begin(), network_traits.end()); });
    Class<NetworkLevel>(module, "NetworkLevel")
        .field("name", &NetworkLevel::name)
        .field("help", &NetworkLevel::help)
        .field("detail", &NetworkLevel::detail)
        .field("flow_lists", &NetworkLevel::flow_lists)
        .field("options", &NetworkLevel::options)
        .def_prop_ro("traits", &names_of_traits)
        .def("check", [](const NetworkLevel& level, const std::map<std::string, double>& options) {
            if (level.check != nullptr) {
                level.check(options);
            }
        }, "options"_a);
    module.def("network_levels", [] { return network_levels(); });
    nb::class_<PythonPort>(module, "NetworkPort")
        .def_prop_ro("now", [](const PythonPort& self) { return self.open().now(); })
        .def_prop_ro("next", [](const PythonPort& self) -> std::optional<u64> {
            const u64 tick = self.open().next();
            return tick == never ? std::nullopt : std::optional<u64>(tick);
        })
        .def("departs", [](const PythonPort& self, u32 message, u64 tick) { self.open().departs(message, tick); },
             "message"_a, "tick"_a)
        .def("arrives", [](const PythonPort& self, u32 message, u64 tick, u64 departed) {
            self.open().arrives(message, tick, departed);
        }, "message"_a, "tick"_a, "departed"_a)
        .def("wake", [](const PythonPort& self, u64 tick, u32 token) { self.open().wake(tick, token); },
             "tick"_a, "token"_a);
}

}  // namespace yantra
