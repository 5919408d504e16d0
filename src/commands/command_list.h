// How each command joins the command line; command_line.cc has them in the order of the help.
#pragma once

namespace careen::app {

class Commands;

void add_explain_command(Commands& commands);
void add_status_command(Commands& commands);
void add_top_command(Commands& commands);
void add_budget_command(Commands& commands);
void add_clusters_command(Commands& commands);
void add_plan_command(Commands& commands);
void add_snapshot_command(Commands& commands);
void add_gather_command(Commands& commands);

void add_drain_command(Commands& commands);
void add_uncordon_command(Commands& commands);
void add_pause_command(Commands& commands);
void add_resume_command(Commands& commands);

void add_run_command(Commands& commands);
void add_demo_command(Commands& commands);
void add_model_command(Commands& commands);

void add_validate_command(Commands& commands);
void add_plugins_command(Commands& commands);
void add_schema_command(Commands& commands);

void add_completion_command(Commands& commands);
void add_docs_command(Commands& commands);
void add_version_command(Commands& commands);

}  // namespace careen::app
