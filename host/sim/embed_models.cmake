# Writes OUTPUT, a C++ source with the text of each file of MODELS (a list).
set(entries "")
foreach(model IN LISTS MODELS)
  get_filename_component(name ${model} NAME_WE)
  file(READ ${model} text)
  string(APPEND entries "        {\"${name}\", R\"model(${text})model\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"host/sim/drive_parameters.hpp\"

namespace wattrig::sim {

const std::vector<EmbeddedModel>& embedded_models() {
    static const std::vector<EmbeddedModel> models{
${entries}    };
    return models;
}

}  // namespace wattrig::sim
")
