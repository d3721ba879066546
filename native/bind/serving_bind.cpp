// Python's view of a fleet of serving engines.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/ensure.hpp"
#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "serving/cost/linear.hpp"
#include "serving/cost/tables.hpp"
#include "serving/outside.hpp"
#include "serving/served.hpp"
#include "serving/shared_links.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra::serving {

namespace {

template <class Id, class Value, class From>
IdVector<Id, Value> column_of(const Array<From>& array) {
    std::vector<Value> made(array.size());
    for (std::size_t at = 0; at < array.size(); ++at) {
        made[at] = static_cast<Value>(array.data()[at]);
    }
    return IdVector<Id, Value>(std::move(made));
}

std::vector<double> numbers_of(const Array<double>& array) { return {array.data(), array.data() + array.size()}; }

std::shared_ptr<Requests> requests_of(const Array<i64>& arrival_ps, const Array<i64>& prompt, const Array<i64>& output,
                                      const Array<i64>& limit, const Array<i64>& priority, const Array<i64>& user,
                                      const Array<i64>& adapter, const Array<i64>& session, const Array<i64>& after, const Array<i64>& delay_ps,
                                      const Array<i64>& span_begin, const Array<i64>& span_source,
                                      const Array<i64>& span_end, const Array<i64>& accepted_begin,
                                      const Array<i64>& accepted) {
    auto made = std::make_shared<Requests>();
    made->arrival = column_of<RequestId, Time>(arrival_ps);
    made->prompt = column_of<RequestId, u32>(prompt);
    made->output = column_of<RequestId, u32>(output);
    made->limit = column_of<RequestId, u32>(limit);
    made->priority = column_of<RequestId, i64>(priority);
    made->user = column_of<RequestId, u32>(user);
    made->adapter = column_of<RequestId, u32>(adapter);
    made->session = column_of<RequestId, u64>(session);
    made->delay = column_of<RequestId, Time>(delay_ps);
    for (std::size_t at = 0; at < after.size(); ++at) {
        made->after.add(after.data()[at] < 0 ? RequestId::none : RequestId(static_cast<u32>(after.data()[at])));
    }
    for (std::size_t at = 0; at < span_begin.size(); ++at) {
        made->span_begin.push_back(static_cast<u32>(span_begin.data()[at]));
    }
    for (std::size_t at = 0; at < span_source.size(); ++at) {
        made->spans.push_back({static_cast<u64>(span_source.data()[at]), static_cast<u32>(span_end.data()[at])});
    }
    for (std::size_t at = 0; at < accepted_begin.size(); ++at) {
        made->accepted_begin.push_back(static_cast<u32>(accepted_begin.data()[at]));
    }
    for (std::size_t at = 0; at < accepted.size(); ++at) {
        made->accepted.push_back(static_cast<u32>(accepted.data()[at]));
    }
    return made;
}

struct BoundFleet {
    std::shared_ptr<const Requests> requests;
    std::shared_ptr<Stream> stream;
    Fleet fleet;

    BoundFleet(std::shared_ptr<const Requests> of, const FleetOptions& options, std::shared_ptr<Stream> from)
        : requests(std::move(of)), stream(std::move(from)),
          fleet(stream == nullptr ? *requests : stream->requests(), options, stream) {}
};

Role role_of(const std::string& name) {
    return name == "prefill" ? Role::prefill : name == "decode" ? Role::decode : Role::both;
}

void add_replica(BoundFleet& self, const std::string& role, const std::string& engine, const EngineOptions& given,
                 std::shared_ptr<const Cost> cost, u32 lanes, u32 stages, Time from, Time until) {
    self.fleet.add(role_of(role), engine, given, std::move(cost), lanes, stages,
                   {from < 0 ? end_of_time : from, until < 0 ? end_of_time : until});
}

// An object with `decides(now_ps, waiting, running, free_blocks)`, which returns requests, tokens
// and the preempted, and `refuses(why)`, which raises.
class PythonDecider final : public Decider {
public:
    explicit PythonDecider(nb::object object) : object_(std::move(object)) {}
    ~PythonDecider() override {
        const nb::gil_scoped_acquire locked;
        object_.reset();
    }
    PythonDecider(const PythonDecider&) = delete;
    PythonDecider& operator=(const PythonDecider&) = delete;

    Decision decides(Time now, const Seen& waiting, const Seen& running, u32 free_blocks) override {
        const nb::gil_scoped_acquire locked;
        const auto [requests, tokens, preempted] = nb::cast<std::tuple<Array<i64>, Array<i64>, Array<i64>>>(
            object_.attr("decides")(now, columns_of(waiting), columns_of(running), free_blocks));
        return {vector_of(requests), vector_of(tokens), vector_of(preempted)};
    }
    [[noreturn]] void refuses(const std::string& why) override {
        const nb::gil_scoped_acquire locked;
        object_.attr("refuses")(why);
        fail("a broken law that nobody raised");
    }

private:
    static nb::object columns_of(const Seen& seen) {
        nb::list columns;
        for (const std::vector<i64>& column : seen.columns) {
            const nb::ndarray<nb::numpy, const i64, nb::ndim<1>> view(column.data(), {column.size()});
            columns.append(nb::cast(view, nb::rv_policy::copy));
        }
        return columns;
    }
    static std::vector<i64> vector_of(const Array<i64>& array) { return {array.data(), array.data() + array.size()}; }

    nb::object object_;
};

void add_outside(BoundFleet& self, const std::string& role, nb::object decider, u32 blocks, u32 block_size,
                 u32 sequences, u32 tokens, std::shared_ptr<const Cost> cost, Time from, Time until) {
    const auto make = [&](const serving::Engine::Place& place) {
        return outside_engine(place, {blocks, block_size, sequences, tokens},
                              std::make_unique<PythonDecider>(decider));
    };
    self.fleet.add(role_of(role), make, std::move(cost), 1, 1,
                   {from < 0 ? end_of_time : from, until < 0 ? end_of_time : until});
}

void route(BoundFleet& self, const std::string& role, const std::string& routing, u64 seed) {
    const serving::RoutingKind* kind = serving::find_routing(routing);
    ensure(kind != nullptr, "a routing that nobody knows");
    self.fleet.route(role_of(role), kind->make(seed));
}

Served run(BoundFleet& self) {
    const InterruptibleCall call;
    self.fleet.run();
    return self.stream == nullptr ? served_of(self.fleet) : served_of(self.fleet, *self.stream);
}

struct Knots {
    std::vector<double> tokens;
    std::vector<double> sequences;
    std::vector<double> context;
    std::vector<double> prompt_tokens;
    std::vector<double> before;
    std::vector<double> emitted;
};

using FourTables = std::tuple<Array<double>, Array<double>, Array<double>, Array<double>>;

PartTables tables_of(const Knots& knots, const FourTables& values, const OtherTerms& others) {
    const auto& [of_tokens, of_decode, of_prefill, of_emitted] = values;
    return {{knots.tokens, numbers_of(of_tokens)},
            {knots.sequences, knots.context, numbers_of(of_decode)},
            {knots.prompt_tokens, knots.before, numbers_of(of_prefill)},
            {knots.emitted, numbers_of(of_emitted)},
            others};
}

std::shared_ptr<Cost> table_cost(const Array<double>& tokens, const Array<double>& sequences,
                                 const Array<double>& context, const Array<double>& prompt_tokens,
                                 const Array<double>& before, const Array<double>& emitted, const FourTables& ns,
                                 const FourTables& operations, const FourTables& heavy_ns,
                                 const std::tuple<double, double, double, double>& others_ns) {
    const Knots knots{numbers_of(tokens), numbers_of(sequences), numbers_of(context), numbers_of(prompt_tokens),
                      numbers_of(before), numbers_of(emitted)};
    const auto& [iteration, sequence, token, prompts] = others_ns;
    return std::make_shared<TableCost>(tables_of(knots, ns, {iteration, sequence, token, prompts}),
                                       tables_of(knots, operations, {}), tables_of(knots, heavy_ns, {}));
}

nb::list described(const std::vector<EngineKind>& kinds) {
    nb::list all;
    for (const EngineKind& kind : kinds) {
        nb::list options;
        for (const EngineOption& option : kind.options) {
            nb::list choices;
            for (const std::string& choice : option.choices) {
                choices.append(choice);
            }
            options.append(nb::make_tuple(option.name, option.fallback, option.least, option.help, choices));
        }
        all.append(nb::make_tuple(kind.name, kind.help, options, kind.has_pipelines));
    }
    return all;
}

void bind_served(nb::module_& module) {
    Class<Served>(module, "Served", "What a fleet did; times in ps, -1 for never.")
        .column("row", &Served::row)
        .column("prompt", &Served::prompt)
        .column("output", &Served::output)
        .column("arrival", &Served::arrival)
        .column("start", &Served::start)
        .column("first_token", &Served::first_token)
        .column("second_token", &Served::second_token)
        .column("moved", &Served::moved)
        .column("finish", &Served::finish)
        .column("restarts", &Served::restarts)
        .column("emissions", &Served::emissions)
        .column("cached", &Served::cached)
        .column("recomputed", &Served::recomputed)
        .column("target", &Served::target)
        .column("spent", &Served::spent)
        .column("behind", &Served::behind)
        .column("gap_first", &Served::gap_first)
        .column("gap_growth", &Served::gap_growth)
        .column("gap_count", &Served::gap_count)
        .column("gap_sequences", &Served::gap_sequences)
        .column("log_begin", &Served::log_begin)
        .column("log_end", &Served::log_end)
        .column("log_target", &Served::log_target)
        .column("log_first", &Served::log_first)
        .column("item_request", &Served::item_request)
        .column("item_tokens", &Served::item_tokens)
        .column("item_context", &Served::item_context)
        .column("item_decodes", &Served::item_decodes)
        .column("sample_time", &Served::sample_time)
        .column("sample_replica", &Served::sample_replica)
        .column("sample_waiting", &Served::sample_waiting)
        .column("sample_running", &Served::sample_running)
        .column("sample_kv_tokens", &Served::sample_kv_tokens)
        .column("sample_batch_tokens", &Served::sample_batch_tokens)
        .column("replica_iterations", &Served::replica_iterations)
        .column("replica_worked", &Served::replica_worked)
        .column("replica_up", &Served::replica_up)
        .column("replica_operations", &Served::replica_operations)
        .column("replica_heavy_ns", &Served::replica_heavy_ns)
        .field("end", &Served::end)
        .field("tokens", &Served::tokens)
        .field("emitted", &Served::emitted)
        .field("evicted", &Served::evicted)
        .field("finished", &Served::finished);
}

void bind_all(nb::module_& module) {
    nb::class_<Requests>(module, "ServingRequests");
    module.def("serving_requests", &requests_of, "arrival_ps"_a, "prompt"_a, "output"_a, "limit"_a, "priority"_a,
               "user"_a, "adapter"_a, "session"_a, "after"_a, "delay_ps"_a, "span_begin"_a, "span_source"_a, "span_end"_a,
               "accepted_begin"_a, "accepted"_a);
    nb::class_<Stream>(module, "ServingStream", "Requests that come bit by bit, at places that they leave again.")
        .def(nb::init<u32>(), "places"_a)
        .def("feed", [](Stream& self, std::shared_ptr<Requests> more) { self.feed(std::move(more)); }, "requests"_a)
        .def("close", &Stream::close)
        .def_prop_ro("is_full", &Stream::is_full);
    nb::class_<Cost>(module, "IterationCost");
    module.def("linear_cost", [](Time iteration, Time token, Time context) -> std::shared_ptr<Cost> {
        return std::make_shared<LinearCost>(iteration, token, context);
    }, "per_iteration_ps"_a, "per_token_ps"_a, "per_context_token_ps"_a);
    module.def("table_cost", &table_cost, "tokens"_a, "sequences"_a, "context"_a, "prompt_tokens"_a, "before"_a,
               "emitted"_a, "ns"_a, "operations"_a, "heavy_ns"_a, "others_ns"_a);
    bind_served(module);
    nb::class_<BoundFleet>(module, "Fleet", "Serving engines on one clock.")
        .def("__init__", [](BoundFleet* self, std::shared_ptr<Requests> requests, u64 bytes_per_token, u32 layers,
                            u64 most_under_way, u64 most_logged, bool samples, u32 pool_blocks, bool singly,
                            std::shared_ptr<Stream> stream) {
            new (self) BoundFleet(std::move(requests), {bytes_per_token, layers, most_under_way, most_logged, samples,
                                                        pool_blocks, singly}, std::move(stream));
        }, "requests"_a, "bytes_per_token"_a = 0, "layers"_a = 1, "most_under_way"_a = 0, "most_logged"_a = 0, "samples"_a = false,
           "pool_blocks"_a = 0, "singly"_a = false, "stream"_a = nb::none())
        .def("add", &add_replica, "role"_a, "engine"_a, "options"_a, "cost"_a, "lanes"_a = 1, "stages"_a = 1, "from_ps"_a = 0,
             "until_ps"_a = -1)
        .def("add_outside", &add_outside, "role"_a, "decider"_a, "num_blocks"_a, "block_size"_a, "max_num_seqs"_a,
             "max_num_batched_tokens"_a, "cost"_a, "from_ps"_a = 0, "until_ps"_a = -1)
        .def("route", &route, "role"_a, "routing"_a, "seed"_a)
        .def("scale", [](BoundFleet& self, const std::string& role, double most_waiting, Time delay, Time idle,
                         u32 least) {
            self.fleet.scale(role_of(role), {most_waiting, delay, idle < 0 ? end_of_time : idle, least});
        }, "role"_a, "most_waiting"_a, "delay_ps"_a, "idle_ps"_a, "least"_a)
        .def("line", [](BoundFleet& self, Time latency, double bytes_per_ns) {
            self.fleet.carry(std::make_unique<Line>(latency, bytes_per_ns));
        }, "latency_ps"_a, "bytes_per_ns"_a)
        .def("links", [](BoundFleet& self, u32 targets, const Array<i64>& first, const Array<i64>& links,
                         const Array<double>& bytes_per_ns, const Array<double>& latency_ns) {
            Ways ways{targets, {}, {}, numbers_of(bytes_per_ns), numbers_of(latency_ns)};
            for (std::size_t at = 0; at < first.size(); ++at) {
                ways.first.push_back(static_cast<u32>(first.data()[at]));
            }
            for (std::size_t at = 0; at < links.size(); ++at) {
                ways.links.push_back(static_cast<u32>(links.data()[at]));
            }
            self.fleet.carry(std::make_unique<SharedLinks>(std::move(ways)));
        }, "targets"_a, "first"_a, "links"_a, "bytes_per_ns"_a, "latency_ns"_a)
        .def("run", &run);
    module.def("serving_engines", [] { return described(engine_kinds()); },
               nb::sig("def serving_engines() -> list[tuple[str, str, list[tuple[str, float, float, str, list[str]]], bool]]"));
    module.def("serving_routings", [] {
        nb::list all;
        for (const serving::RoutingKind& kind : serving::routing_kinds()) {
            all.append(nb::make_tuple(kind.name, kind.help));
        }
        return all;
    }, nb::sig("def serving_routings() -> list[tuple[str, str]]"));
}

}  // namespace

}  // namespace yantra::serving

void yantra::register_serving(nanobind::module_& module) { serving::bind_all(module); }
