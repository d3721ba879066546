// Layout: how the communicators of a model lie on its ranks, found while the model is built.
//
// Everything here is a pass over ranks or members with a few bytes for each, and leaves behind what
// differs between them only.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/model.hpp"

namespace yantra {

// Which dimensions of the network the members of a form differ in.
struct Span {
    u32 lowest = 0;              // of those dimensions
    std::optional<u64> whole;    // as bits, where the members that lie at 0 are exactly their product
};

// Precondition: the model has its dimensions, and the form two members or more.
Span span_of(const Model& model, const Form& form);

// Communicators `first_index` and on, one for each point of a product of axes: `count` steps of
// `base_stride` ranks and `index_stride` communicators.
struct Family {
    struct Axis {
        u32 count = 1;
        u32 base_stride = 0;
        u32 index_stride = 0;
    };
    u32 first_index = 0;
    u64 first_stream = 0;
    u64 streams_each = 0;
    u32 base = 0;
    std::vector<Axis> axes;
    u32 form = 0;
    u32 aligned_form = 0;        // of those whose base lies at 0 in the dimensions of `whole`
    u64 whole = 0;
};

void add_communicators(Model& model, const Family& family);

// Gives communicators numbers so that those that share a rank differ, the lowest free one to each in
// turn; returns how many numbers there are. Communicator 0 has number 0, and all ranks.
u32 colour(Model& model);

// A template, as far as it matters which of its ranks can share a job.
struct TemplateUse {
    std::shared_ptr<const RankRules> rules;
    std::vector<std::pair<u32, u32>> collectives;   // (place of the communicator, bit set of comm_types)
};

struct Assignment {
    struct Role {
        u32 in_template = none;
        u32 rank = none;                      // its first
        std::shared_ptr<const RankRules> rules;
        std::vector<u8> collective;           // slots, by place of the communicator
        std::vector<u8> send;
    };
    std::vector<Role> roles;
    std::vector<u32> role_of;                 // by rank
    std::vector<u32> kinds;                   // by form: bit set of comm_types in use
    u32 faulty = none;                        // a rank for which a name means nothing
};

// Ranks of one template whose communicators occupy the same slots have one role.
Assignment assign(const Model& model, const std::vector<TemplateUse>& templates,
                  const std::vector<u32>& template_of);

}  // namespace yantra
