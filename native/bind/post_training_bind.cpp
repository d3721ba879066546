// Python's view of the loop of post-training.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>

#include "bind/arrays.hpp"
#include "bind/columns.hpp"
#include "bind/fields.hpp"
#include "bind/interruptible.hpp"
#include "bind/parts.hpp"
#include "post_training/played.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace yantra::post_training {

namespace {

template <class Id, class Value>
IdVector<Id, Value> ids_of(const Array<i64>& array) {
    std::vector<Value> made(array.size());
    for (std::size_t at = 0; at < array.size(); ++at) {
        made[at] = static_cast<Value>(array.data()[at]);
    }
    return IdVector<Id, Value>(std::move(made));
}

void make_job(Job* at, const Array<i64>& prompt, const Array<i64>& begin, const Array<i64>& filtered,
              const Array<i64>& output, const Array<i64>& reward, std::shared_ptr<serving::Cost> iteration,
              std::shared_ptr<PhaseLaw> logp, std::shared_ptr<PhaseLaw> ref, std::shared_ptr<PhaseLaw> train) {
    Job& job = *new (at) Job();
    job.groups = {ids_of<GroupId, u32>(prompt), ids_of<GroupId, u32>(begin), ids_of<GroupId, u8>(filtered),
                  ids_of<SampleId, u32>(output), ids_of<SampleId, Time>(reward), {}};
    job.iteration = std::move(iteration);
    job.logp = std::move(logp);
    job.ref = std::move(ref);
    job.train = std::move(train);
}

Played played_of(const Job& job) {
    const InterruptibleCall call;
    return play(job);
}

void bind_laws(nb::module_& module) {
    nb::class_<PhaseLaw>(module, "PhaseLaw");
    module.def("linear_law", [](u64 base, u64 token, u64 square) -> std::shared_ptr<PhaseLaw> {
        return std::make_shared<LinearLaw>(base, token, square);
    }, "base"_a, "per_token"_a, "per_square"_a);
    module.def("curve_law", [](const Array<double>& tokens, const Array<double>& ticks, double square) -> std::shared_ptr<PhaseLaw> {
        const auto numbers = [](const Array<double>& of) { return std::vector<double>(of.data(), of.data() + of.size()); };
        return std::make_shared<CurveLaw>(serving::Curve(numbers(tokens), numbers(ticks)), square);
    }, "tokens"_a, "ticks"_a, "per_square"_a);
}

void bind_job(nb::module_& module) {
    Class<Job>(module, "RolloutJob", "How groups are generated, rewarded and trained; times in whole ticks.")
        .setting("feed", &Job::feed)
        .setting("is_colocated", &Job::is_colocated)
        .setting("is_partial", &Job::is_partial)
        .setting("takes_submitted", &Job::takes_submitted)
        .setting("in_rounds", &Job::in_rounds)
        .setting("loses_kv", &Job::loses_kv)
        .setting("reward_overlap", &Job::reward_overlap)
        .setting("replicas", &Job::replicas)
        .setting("steps", &Job::steps)
        .setting("groups_per_step", &Job::groups_per_step)
        .setting("groups_per_minibatch", &Job::groups_per_minibatch)
        .setting("ahead", &Job::ahead)
        .setting("staleness", &Job::staleness)
        .setting("max_concurrent", &Job::max_concurrent)
        .setting("max_age", &Job::max_age)
        .setting("in_flight_groups", &Job::in_flight_groups)
        .setting("reward_servers", &Job::reward_servers)
        .setting("refit", &Job::refit)
        .setting("switching", &Job::switching)
        .def("__init__", &make_job, "prompt"_a, "begin"_a, "filtered"_a, "output"_a, "reward"_a, "iteration"_a,
             "logp"_a, "ref"_a, "train"_a)
        .def("take_turns", [](Job& self, const Array<i64>& begin, const Array<i64>& output, const Array<i64>& delay,
                              const Array<i64>& added) {
            Turns& turns = self.groups.turns;
            turns.begin = ids_of<SampleId, u32>(begin);
            turns.output = ids_of<SampleId, u32>(output).values();
            turns.delay = ids_of<SampleId, Time>(delay).values();
            turns.added = ids_of<SampleId, u32>(added).values();
        }, "begin"_a, "output"_a, "delay"_a, "added"_a)
        .def("choose", [](Job& self, u32 refit_rule, u32 routing) {
            self.refit_rule = static_cast<RefitRule>(refit_rule);
            self.routing = static_cast<Routing>(routing);
        }, "refit_rule"_a, "routing"_a)
        .def("limit", [](Job& self, u32 seats, u64 kv_tokens, u32 iteration_tokens, bool shares_prompts) {
            self.limits = {seats, kv_tokens, iteration_tokens, shares_prompts};
        }, "seats"_a, "kv_tokens"_a, "iteration_tokens"_a, "shares_prompts"_a);
}

// Fields of a part of `Played`.
template <auto Part, auto Member>
auto part() {
    return [](nb::handle self) {
        const auto& values = (nb::cast<const Played&>(self).*Part).*Member;
        return Column<i64>(values.data(), {values.size()}, self);
    };
}

void bind_played(nb::module_& module) {
    Class<Played>(module, "Played", "What a job did, in whole ticks; -1 is what had not come by the end.")
        .column("group", &Played::group)
        .column("number", &Played::number)
        .column("piece_begin", &Played::piece_begin)
        .column("piece_version", &Played::piece_version)
        .column("piece_tokens", &Played::piece_tokens)
        .column("fate", &Played::fate)
        .column("replica_ticks", &Played::replica_ticks)
        .column("trainer_ticks", &Played::trainer_ticks)
        .column("operations", &Played::operations)
        .column("heavy_ns", &Played::heavy_ns)
        .column("preempted", &Played::preempted)
        .field("is_starved", &Played::is_starved)
        .field("end", &Played::end)
        .field("tokens", &Played::tokens)
        .field("recomputed", &Played::recomputed)
        .def_prop_ro("taken", part<&Played::steps, &StepColumns::taken>())
        .def_prop_ro("ended", part<&Played::steps, &StepColumns::ended>())
        .def_prop_ro("submitted", part<&Played::samples, &SampleColumns::submitted>())
        .def_prop_ro("begun", part<&Played::samples, &SampleColumns::begun>())
        .def_prop_ro("finished", part<&Played::samples, &SampleColumns::finished>())
        .def_prop_ro("rewarded", part<&Played::samples, &SampleColumns::rewarded>())
        .def_prop_ro("resolved", part<&Played::groups, &GroupColumns::resolved>())
        .def_prop_ro("left", part<&Played::groups, &GroupColumns::left>())
        .def_prop_ro("step", part<&Played::groups, &GroupColumns::step>())
        .def_prop_ro("minibatch_step", part<&Played::minibatches, &MinibatchColumns::step>())
        .def_prop_ro("minibatch_start", part<&Played::minibatches, &MinibatchColumns::start>())
        .def_prop_ro("minibatch_end", part<&Played::minibatches, &MinibatchColumns::end>())
        .def_prop_ro("minibatch_version", part<&Played::minibatches, &MinibatchColumns::version>())
        .def_prop_ro("minibatch_group_begin", part<&Played::minibatches, &MinibatchColumns::group_begin>())
        .def_prop_ro("minibatch_groups", part<&Played::minibatches, &MinibatchColumns::groups>())
        .def_prop_ro("stale_begin", part<&Played::minibatches, &MinibatchColumns::stale_begin>())
        .def_prop_ro("stale", part<&Played::minibatches, &MinibatchColumns::stale>());
}

void bind_loop(nb::module_& module) {
    bind_laws(module);
    bind_job(module);
    bind_played(module);
    module.def("play_rollouts", &played_of, "job"_a);
    module.def("rollout_feeds", [] {
        nb::list all;
        for (const FeedKind& kind : feed_kinds()) {
            all.append(nb::make_tuple(kind.name, kind.help));
        }
        return all;
    }, nb::sig("def rollout_feeds() -> list[tuple[str, str]]"));
}

}  // namespace

}  // namespace yantra::post_training

void yantra::register_post_training(nanobind::module_& module) { post_training::bind_loop(module); }
